"""Callbacks that watch a training run of another library: Lightning, and the Trainer of Hugging Face.

Nothing is imported before you use one: `workbench.callbacks.lightning.WatchCallback`, or
`workbench.callbacks.transformers.WatchTrainerCallback`.
"""

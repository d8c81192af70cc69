"""Callbacks that watch a training which another library runs: Lightning's, and the Trainer of Hugging Face.

Nothing is imported until one is asked for: `workbench.callbacks.lightning.WatchCallback`, and the same of
`transformers`.
"""

"""Runs Python's command lines one after another, each in a fork of this process, which has imported PyTorch once.

Each line of its input is a folder and the words of a command line; what these print goes into files of the folder.
"""

from __future__ import annotations

import json
import os
import runpy
import sys

import torch
import torch._dynamo
import torch._functorch.aot_autograd

import workbench.cli  # noqa: F401  (what most forks need is imported once)


def answer() -> list[str]:
    """Return the words of the next command line in a fork of its own; end where no more come."""
    torch.set_num_threads(1)
    for line in iter(sys.stdin.readline, ""):
        folder, words = json.loads(line)
        child = os.fork()
        if child == 0:
            os.chdir(folder)
            for file, name in enumerate((os.devnull, "out.txt", "err.txt")):
                os.dup2(os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC), file)
            return words
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
    sys.exit()


words = answer()
# What is raised ends the fork as it ends a program, with the traceback that Python prints.
if words[0] == "-m":
    sys.argv[:] = words[1:]
    runpy.run_module(words[1], run_name="__main__", alter_sys=True)
else:
    sys.argv[:] = words
    runpy.run_path(words[0], run_name="__main__")

"""What every hub of a class has, whoever logs in and wherever servers run: lessons, limits, and what a crash leaves.

A configuration loads it with `load_subconfig("class_base.py")`, and says itself who may log in and what starts servers.
"""

import os
import sys
from pathlib import Path

c = get_config()  # noqa: F821
HERE = Path(__file__).resolve().parent

# A student's server brings the lessons up to date, and opens on them.
c.Spawner.cmd = [os.environ.get("CLASS_PYTHON", sys.executable), str(HERE / "start.py")]
c.Spawner.default_url = "/lab/tree/lessons"
c.Spawner.notebook_dir = "~"

# At most this for one student. LocalProcessSpawner, the default, doesn't enforce it: systemd, Docker and Kubernetes do.
c.Spawner.mem_limit = os.environ.get("CLASS_MEMORY", "1G")
c.Spawner.mem_guarantee = os.environ.get("CLASS_MEMORY_RESERVED", "256M")
c.Spawner.cpu_limit = float(os.environ.get("CLASS_CPUS", "2"))
c.Spawner.environment = {
    # One student computes with one thread: small arrays gain nothing by more, and each takes memory of its own.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
    **{name: value for name, value in os.environ.items() if name in ("CLASS_COURSE", "CLASS_EXCHANGE", "CLASS_IDLE")},
}

# When a lecture begins all come at once: everyone is admitted, and a server may take its time.
c.JupyterHub.concurrent_spawn_limit = 0
c.Spawner.start_timeout = 300
c.Spawner.http_timeout = 300

# The hub may stop, crash or be upgraded: servers run on, and the next hub finds them.
c.JupyterHub.cleanup_servers = False
c.JupyterHub.cleanup_proxy = False

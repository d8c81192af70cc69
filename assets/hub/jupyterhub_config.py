"""A class on one machine: students are its users, systemd holds them to their limits, nbgrader's exchange is a folder.

    CLASS_STUDENTS=/srv/class/students.txt CLASS_TEACHERS=ada,emmy jupyterhub -f jupyterhub_config.py

A student is a line of the file, and an account of the machine; no one else is admitted, and this file has no password.
"""

import os
from pathlib import Path

c = get_config()  # noqa: F821
load_subconfig("class_base.py")  # noqa: F821

c.JupyterHub.authenticator_class = "pam"
c.JupyterHub.spawner_class = "systemd"  # pip install jupyterhub-systemdspawner

# This machine alone reaches it: what the network reaches, with a certificate, stands before it.
c.JupyterHub.bind_url = os.environ.get("CLASS_ADDRESS", "http://127.0.0.1:8000")

students = Path(os.environ["CLASS_STUDENTS"]).read_text(encoding="utf-8").split()
teachers = [name for name in os.environ.get("CLASS_TEACHERS", "").split(",") if name]
c.Authenticator.allowed_users = {*students, *teachers}
c.Authenticator.admin_users = set(teachers)

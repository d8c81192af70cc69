"""A student's server: what it leaves out, and when it ends."""

import os

c = get_config()  # noqa: F821

# Kernels that have been idle for so long end, also behind a page that is open: notebooks stay, variables go. A server
# without kernels and pages ends as well.
idle = int(os.environ.get("CLASS_IDLE", "3600"))  # s
c.MappingKernelManager.cull_idle_timeout = idle
c.MappingKernelManager.cull_interval = max(idle // 10, 1)
c.MappingKernelManager.cull_connected = True
c.ServerApp.shutdown_no_activity_timeout = idle

# Servers that start kernels at once choose the same ports, and kernels that find theirs taken end. Files have no such
# limit: they lie in the server's own folder (start.py), which others who have accounts on the machine cannot enter.
c.KernelManager.transport = "ipc"

# Students fetch, validate and hand in: what teachers need is left out here and, by page_config.json, in the page.
c.ServerApp.jpserver_extensions = {
    "nbgrader.server_extensions.course_list": False,
    "nbgrader.server_extensions.formgrader": False,
}

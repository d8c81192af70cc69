"""nbgrader's exchange: the folder that the teacher releases into and students hand in to."""

import os

c = get_config()  # noqa: F821

c.CourseDirectory.course_id = os.environ.get("CLASS_COURSE", "autograd")
c.Exchange.root = os.environ.get("CLASS_EXCHANGE", "/srv/nbgrader/exchange")
c.Exchange.path_includes_course = True

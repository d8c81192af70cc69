"""What a picture refuses: when it is made, shown, placed and saved."""

NO_THEME = "There is no theme named {!r}; choose one of {}."
NO_STEP = "There is no step {}; this {} has {}, counted from 0."
STEP_KIND = "`step` is the number of a step, counted from 0, but got {!r}."
HANGS_NOWHERE = "Box {!r} hangs on {!r}, which stands nowhere in the scene."
LIES_NOWHERE = "Box {!r} lies in {!r}, which is no region or group of the scene."
ENDS_NOWHERE = "Arrow {!r} ends at {!r}, which stands nowhere in the scene."
CHANGES_NOTHING = "Step {} changes {!r}, which is not in the scene."
NO_PLACE = "Box {!r} has no place, but others in the scene have one."
NO_GRAPHVIZ = (
    "No picture can be drawn because Graphviz is missing: run `pip install pygraphviz`, or, where that has no wheel, "
    "install Graphviz and put its program `dot` on the PATH."
)
DOT_FAILED = "No picture can be drawn because Graphviz's program `dot` failed: {}"
NO_FFMPEG = (
    "An .mp4 is made by the program ffmpeg, which is not on the PATH: install it (https://ffmpeg.org/download.html), "
    "or save the picture as a .gif, which needs nothing more."
)
FFMPEG_FAILED = "ffmpeg could not make the .mp4: {}"
UNKNOWN_SUFFIX = "Cannot save a picture as {!r}: use a name that ends in {}."
HOLDS_EVERY_STEP = "A {} file holds every step, so leave `step` out, or save {}."
HOLDS_NO_LOOK = "A .json file holds what a picture shows and not how it looks, so leave `theme` out."
NO_FOLDER = "there is no such folder, so make it first"
FILE_AS_FOLDER = "a file stands where its folder should be, so save elsewhere"
LONG_NAME = "the name is too long, so use a shorter one"
IS_FOLDER = "a folder has this name, so use another"
IS_DEVICE = "this is a pipe or a device, so give the name of a file"
READ_ONLY = "the file is read-only, so make it writable or save elsewhere"

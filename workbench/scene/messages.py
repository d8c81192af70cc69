"""What a picture refuses: when it is made, shown, placed and saved."""

NO_STEP = "There is no step {}; this {} has {}, counted from 0."
MOVES = "Step {} moves box {!r} into another group or region; a box stays where it is."

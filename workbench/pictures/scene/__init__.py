"""The picture model and its faces: layout, text, SVG, HTML, DOT and PNG; it knows no engine."""

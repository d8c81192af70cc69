// A program that is wider than the page scrolls: by the keyboard, too.
function reach() {
  for (const each of document.querySelectorAll("pre, .table-wrapper")) {
    if (each.scrollWidth > each.clientWidth) each.tabIndex = 0;
    else each.removeAttribute("tabindex");
  }
}
addEventListener("load", reach);
addEventListener("resize", reach);

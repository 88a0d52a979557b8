// Texts of a page whose contrast with what is behind them is below 4.5 (WCAG 2), each kind once.
const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
function rgba(colour) {
  canvas.clearRect(0, 0, 1, 1);
  canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data].map((value) => value / 255);
}
const over = (above, below) =>
  [0, 1, 2].map((i) => above[3] * above[i] + (1 - above[3]) * below[i]).concat(1);
function luminance(colour) {
  const linear = colour.map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}
function behind(element) {
  const layers = [];
  for (let each = element; each; each = each.parentElement) {
    const colour = rgba(getComputedStyle(each).backgroundColor);
    layers.push(colour);
    if (colour[3] === 1) break;
  }
  return layers.reverse().reduce((below, above) => over(above, below), [1, 1, 1, 1]);
}
const found = new Map();
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (texts.nextNode()) {
  const element = texts.currentNode.parentElement;
  const style = getComputedStyle(element);
  const seen = element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const words = texts.currentNode.textContent.trim();
  if (!words || !seen || ["SCRIPT", "STYLE"].includes(element.tagName)) continue;
  const box = element.getBoundingClientRect();
  if (box.width <= 1 || box.height <= 1) continue; // for screen readers only
  const drawn = element instanceof SVGElement ? style.fill : style.color;
  const key = `${drawn} ${element.tagName} ${element.className.baseVal ?? element.className}`;
  if (found.has(key)) continue;
  const below = behind(element);
  const levels = [luminance(over(rgba(drawn), below)), luminance(below)];
  const contrast = (Math.max(...levels) + 0.05) / (Math.min(...levels) + 0.05);
  found.set(key, contrast < 4.5 ? `${contrast.toFixed(2)} ${key}: ${words.slice(0, 40)}` : "");
}
return [...found.values()].filter(Boolean);

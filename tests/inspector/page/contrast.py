"""A script for the browser that finds text of low contrast."""

from __future__ import annotations

CONTRAST = """() => {
    const parse = (colour) => (colour.match(/[0-9.]+/g) ?? []).map(Number);
    const light = ([red, green, blue]) => {
        const part = (value) => { const c = value / 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
        return 0.2126 * part(red) + 0.7152 * part(green) + 0.0722 * part(blue);
    };
    const behind = (element) => {
        for (let box = element; box; box = box.parentElement) {
            const colour = parse(getComputedStyle(box).backgroundColor);
            if ((colour[3] ?? 1) === 1 && colour.length >= 3) return colour;
        }
        return [255, 255, 255];
    };
    const low = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || !element.checkVisibility() || element.closest(":disabled, svg")) continue;
        const [one, two] = [light(parse(getComputedStyle(element).color)), light(behind(element))];
        const ratio = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
        if (ratio < 4.5) low.push(`${ratio.toFixed(2)}: ${walker.currentNode.data.slice(0, 40)}`);
    }
    return low;
}"""

"""What is wrong with the geometry of a page, asked of the page itself in each of its states."""

from __future__ import annotations

from modgraph.graph.model import Graph

FAULTS = """() => {
  window.faults = () => {
    const bad = [];
    const box = (node) => node.getBoundingClientRect();
    const name = (node) => node.querySelector("text").textContent;
    const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
    const frames = [...document.querySelectorAll(".container > .frame")];
    const boxes = [...document.querySelectorAll(".item, .tag"), ...frames];
    const owner = (node) => (node.matches(".frame") ? node.parentNode : node);
    const called = (node) => name(owner(node));
    boxes.forEach((one, i) => boxes.slice(i + 1).forEach((other) => {
      const [a, b] = [owner(one), owner(other)];
      if (!a.contains(b) && !b.contains(a) && meet(box(one), box(other))) bad.push(`${called(one)} over ${called(other)}`);
    }));
    for (const group of document.querySelectorAll(".container > [role=group]")) {
      const frame = group.parentNode.querySelector(":scope > .frame");
      const [inner, outer] = [group, frame || group].map(box);
      if (inner.left < outer.left - 1 || inner.right > outer.right + 1 || inner.bottom > outer.bottom + 1) bad.push(group.id);
    }
    for (const card of document.querySelectorAll(".item.card, .item.container")) {
      const border = box(card.querySelector(".card-border"));
      for (const text of card.querySelectorAll("text")) {
        if (box(text).left < border.left || box(text).right > border.right + 0.5) bad.push(text.textContent);
      }
    }
    for (const frame of frames) {
      for (const text of frame.parentNode.querySelectorAll(":scope > text, :scope > .head > text")) {
        if (box(text).right > box(frame).right + 0.5) bad.push(text.textContent);
      }
    }
    for (const line of document.querySelectorAll(".line")) {
      // A line belongs to one container; the frames in that one are its ends or foreign to it, and it enters neither.
      const inside = line.closest(".container").querySelectorAll(":scope > [role=group] > .container > .frame");
      const [matrix, length] = [line.getScreenCTM(), line.getTotalLength()];
      for (let at = 0; at <= length; at += 4) {
        const { x, y } = line.getPointAtLength(at).matrixTransform(matrix);
        const entered = [...inside].map((frame) => [frame, box(frame)]).find(([, b]) =>
          x > b.left + 2 && x < b.right - 2 && y > b.top + 2 && y < b.bottom - 2);
        if (entered) {
          bad.push(`line ${line.textContent} through ${called(entered[0])}`);
          break;
        }
      }
    }
    return bad;
  };
}"""
"""Boxes that overlap, texts that leave their card or frame, and lines through frames they do not belong to."""

STATES = """() => {
  const [open, close] = ["open-more", "close-all"].map((id) => document.getElementById(id));
  const found = {};
  const look = (state) => { const bad = faults(); if (bad.length) found[state] = bad; };
  const containers = () => [...document.querySelectorAll(".spot[aria-expanded]")].map((spot) => spot.id);
  const turn = (id) => document.getElementById(id).dispatchEvent(new MouseEvent("click", { bubbles: true, detail: 1 }));
  look("as it opens");
  close.click();
  for (let level = 0; level < 6; level += 1) {
    look(`level ${level}`);
    for (const id of containers()) {
      turn(id);
      look(`level ${level}, ${document.getElementById(id).dataset.path} turned`);
      turn(id);
    }
    open.click();
  }
  return found;
}"""
"""What `faults` finds as the page opens, closed, opened level by level, and with each container turned at each level."""


def translator(sketch) -> Graph:
    """Two inputs and two frames, the encoder with all its branches on one side; what is beside it feeds the decoder."""
    net = sketch("Translator")
    net.modules("emb Embedding *", "target Embedding *")
    for part in ("encoder", "decoder"):
        net.module(part, "model.Stack")
        net.module(f"{part}.block", "model.Block")
        for layer in ("q", "k", "out", "ff"):
            net.module(f"{part}.block.{layer}", "Linear", (4, 4))
    net.module("decoder.block.mixers[0]", "Sequential", registered=False)
    net.modules("decoder.block.mixers[0].0 Linear *", "decoder.block.mixers[0].1 ReLU", "head Linear *")

    def block(part: str, x: str, *others: str) -> str:
        net.enter(part)
        net.enter(f"{part}.block")
        q, k = net.call(f"{part}.block.q", x), net.call(f"{part}.block.k", x)
        x = net.op("torch.add", net.call(f"{part}.block.out", q, k, *others[:1]), x)
        if others:
            net.enter("decoder.block.mixers[0]")
            x = net.op("torch.add", net.chain("decoder.block.mixers[0].0 decoder.block.mixers[0].1", x), *others[1:])
            net.leave()
        x = net.op("torch.add", net.call(f"{part}.block.ff", x), x)
        net.leave()
        net.leave()
        return x

    source = net.call("emb", "input:src")
    memory = block("encoder", source)
    target = net.call("target", "input:tgt")
    mask = net.op("torch.triu", net.op("torch.ne", source, shape=(8, 8)), shape=(8, 8))
    net.output(net.call("head", block("decoder", memory, target, mask), shape=(1, 20)))
    return net.graph()

// Of blocks that are alike one is drawn, and each can be told of: which of them, and what its modules are called.

const told = new Map(); // "item row" -> which of the members is told of; the first where it says nothing

const memberKey = (item, row) => `${item.id} ${item.type === "card" ? row : 0}`;
const toldOf = (item, row) => told.get(memberKey(item, row)) || 0;

/** What a path of the drawn member is in the one that is told of, by all folds around `item`. */
function inToldMember(path, item) {
  if (path === undefined) {
    return undefined;
  }
  for (const outer of around(item)) {
    path = moved(path, membersOf(outer, 0), toldOf(outer, 0));
  }
  return path;
}

/** A path in the first of `members`, as it is in another. */
function moved(path, members, at) {
  const [first] = members;
  return at && isWithin(path, first) ? members[at] + path.slice(first.length) : path;
}

const isWithin = (path, outer) => path === outer || path.startsWith(`${outer}.`) || path.startsWith(`${outer}[`);

/** The path of a row, of the member that is told of. */
function toldPath(item, row) {
  const members = membersOf(item, row);
  return inToldMember(members.length ? members[toldOf(item, row)] : pathOf(item, row), item);
}

/** Lets every fold around a row, and the row itself, tell of the member that has `path` in it. */
function tellOf(item, row, path) {
  if (path === undefined) {
    return false;
  }
  let changed = false;
  for (const each of [...around(item)].reverse().concat(item)) {
    const at = each === item ? row : 0;
    const members = membersOf(each, at).map((member) => inToldMember(member, each));
    const found = members.findIndex((member) => isWithin(path, member));
    if (found >= 0 && found !== toldOf(each, at)) {
      told.set(memberKey(each, at), found);
      drawAnew(each);
      changed = true;
    }
  }
  return changed;
}

/** Badge and titles of an item say another member now. */
function drawAnew(item) {
  drawnCards.delete(item.id);
  sizes.delete(item.id);
  for (const id of [...open].filter((each) => [...around(items[each])].includes(item))) {
    layouts.delete(id);
  }
  forget(item);
}

/** The fold that a row is, or is in: its members as paths of this row, and which of them is told of. */
function foldOf(item, row, path) {
  if (membersOf(item, row).length) {
    const members = membersOf(item, row).map((member) => inToldMember(member, item));
    return { holder: item.type === "card" ? item.rows[row] : item, members, at: members.indexOf(path) };
  }
  for (const outer of around(item)) {
    const members = membersOf(outer, 0).map((member) => inToldMember(member, outer));
    const at = members.findIndex((member) => isWithin(path, member));
    if (at >= 0) {
      return { holder: outer, members: members.map((member) => member + path.slice(members[at].length)), at };
    }
  }
  return null;
}

/** What stands in the title of a frame. */
function frameTitle(container) {
  const [title] = container.frame;
  const path = pathOf(container, 0);
  const own = inToldMember(path, container);
  return own !== path && title.startsWith(path) ? own + title.slice(path.length) : title;
}

/** ×3, or which of the three is told of. */
function badgeOf(item, row, copies) {
  const at = toldOf(item, row);
  return at ? `${at + 1} of ${copies}` : `×${copies}`;
}

const alikeText = (item, row, copies) => (toldOf(item, row) ? `${toldOf(item, row) + 1} of ${copies} alike` : `${copies} alike`);

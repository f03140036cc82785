"use strict";
// The list of steps and a place in it. Knows nothing of how it is drawn.

const CHECKPOINT = 256; // steps between two kept states: what one jump has to go through at most

// A state is component -> uid -> {what: how much}; entries are never changed, only replaced.
function applied(state, changes) {
  for (const [component, uid, amounts] of changes) {
    if (!state.has(component)) state.set(component, new Map());
    if (amounts) state.get(component).set(uid, amounts);
    else state.get(component).delete(uid);
  }
  return state;
}

function copied(state) {
  return new Map(Array.from(state, ([component, entries]) => [component, new Map(entries)]));
}

class Cursor {
  constructor(scene) {
    this.scene = scene;
    this.steps = scene.steps;
    this.at = 0;
    this.checkpoints = [];
    const state = new Map(scene.holders.map((name) => [name, new Map()]));
    this.steps.forEach((step, place) => {
      if (place % CHECKPOINT === 0) this.checkpoints.push(copied(state));
      applied(applied(state, step.came), step.changed);
    });
  }

  get step() {
    return this.steps[this.at];
  }

  get last() {
    return this.steps.length - 1;
  }

  go(place) {
    const to = Math.max(0, Math.min(this.last, place));
    const moved = to !== this.at;
    this.at = to;
    return moved;
  }

  // What all components held when the step was taken in, and once it had been dealt with.
  held() {
    const from = Math.floor(this.at / CHECKPOINT);
    const before = copied(this.checkpoints[from]);
    for (let place = from * CHECKPOINT; place < this.at; place++) {
      applied(applied(before, this.steps[place].came), this.steps[place].changed);
    }
    applied(before, this.step.came);
    return { before, after: applied(copied(before), this.step.changed) };
  }

  // The next place (or, with -1, the one before) whose step fits; null if there is none.
  find(fits, direction = 1) {
    for (let place = this.at + direction; place >= 0 && place <= this.last; place += direction) {
      if (fits(this.steps[place])) return place;
    }
    return null;
  }

  nextOfUid(direction) {
    const uid = this.step.uids[0];
    return uid === undefined ? null : this.find((step) => step.uids.includes(uid), direction);
  }

  nextOfType(direction) {
    const { title } = this.step;
    return this.find((step) => step.title === title, direction);
  }

  nextGap(direction) {
    return this.find((step) => step.kind === "gap", direction);
  }
}

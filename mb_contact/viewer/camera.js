// Copyright 2026 The mb_contact authors
// SPDX-License-Identifier: Apache-2.0

// Keeps the camera above what it looks at, or where it may look from below, above the floor.
// OPTIONS is put in its place: {floor: height or null, below: whether it may look from below, near: least distance}, in metres.
(() => {
  const known = window.mbContactCamera;
  window.mbContactCamera = Object.assign(known || {}, OPTIONS);
  if (known) return;
  const MARGIN = 0.02;  // between camera and floor, of their distance at least
  const LEVEL = (88 * Math.PI) / 180;  // polar angle of a camera that looks a little down
  // A file that begins anew turns viser's own lights on until it has read that they are off: the picture would flash.
  const keepLights = (environment) => {
    const { set } = environment || {};
    if (set) environment.set = (state) => state.environmentMap === null || set(state);
  };
  // The page's controls are held by a React context: the fibre that provides it.
  const find = () => {
    const root = document.getElementById("root") || document.body;
    const holder = [root, ...root.querySelectorAll("*")].find((e) => Object.keys(e).some((k) => k.startsWith("__react")));
    const key = holder && Object.keys(holder).find((k) => k.startsWith("__reactContainer") || k.startsWith("__reactFiber"));
    const stack = key ? [holder[key]] : [];
    for (let n = 0; stack.length && n < 50000; n++) {
      const fibre = stack.pop();
      const value = fibre.memoizedProps && fibre.memoizedProps.value;
      const current = value && value.mutable && value.mutable.current;
      if (current && "cameraControl" in current) {
        keepLights(value.useEnvironment);
        return current;
      }
      if (fibre.sibling) stack.push(fibre.sibling);
      if (fibre.child) stack.push(fibre.child);
    }
    return null;
  };
  const limit = (controls) => {
    const { floor, below, near } = window.mbContactCamera;
    if (controls.minDistance > near) controls.minDistance = near;
    const target = controls.getTarget(controls.mbTarget || (controls.mbTarget = controls.camera.position.clone()));
    let most = below ? Math.PI : LEVEL;  // heights are y here
    if (floor !== null && floor !== undefined) {
      if (target.y < floor) controls.moveTo(target.x, floor, target.z, false);
      const lowest = floor + MARGIN * controls.distance - Math.max(target.y, floor);
      if (below) most = Math.acos(Math.max(-1, Math.min(1, lowest / controls.distance)));
    }
    if (controls.maxPolarAngle !== most) controls.maxPolarAngle = most;
    if (controls.polarAngle > most + 1e-3) controls.rotatePolarTo(most, false);
  };
  // Shadows take most of the time of a browser without a graphics card: one that draws slowly turns them off.
  // One that is slow without them has fewer pixels: as few as viser's own watch would have, which stops half way.
  // Where there is no graphics card surfaces lose their gloss then (merged.js).
  const SLOW = 25, SECONDS = 4, COARSE = 0.75;  // frames a second, how long they are counted; pixels for one
  let counted = 0, since = 0, turned = false, coarse = false;
  const watch = () => {
    const now = performance.now() / 1000;
    if (document.hidden || now - since > 3 * SECONDS) [counted, since] = [0, now];
    counted += 1;
    if ((turned && coarse) || now - since < SECONDS) return;
    const slow = counted / (now - since) < SLOW, { keep, viewer } = window.mbContactCamera;
    const label = [...document.querySelectorAll("label")].find((e) => e.innerText.trim() === "shadows");
    const box = label && document.getElementById(label.htmlFor);
    if (slow && box && box.checked && !turned && !keep) {
      box.click();
      turned = true;
    } else if (slow && !coarse && viewer && viewer.scene && viewer.scene.__r3f) {
      viewer.scene.__r3f.root.getState().setDpr(COARSE * window.devicePixelRatio);
      coarse = window.mbContactCamera.matt = true;
    }
    [counted, since] = [0, now];
  };
  let current = null, due = 0;
  const tick = () => {
    requestAnimationFrame(tick);
    watch();
    if (!current && performance.now() > due) {
      current = find();
      due = performance.now() + 300;  // not frames: a slow browser draws a few a second
    }
    if (!current || !current.cameraControl) return;
    Object.assign(window.mbContactCamera, { controls: current.cameraControl, viewer: current });  // for a console
    limit(current.cameraControl);
  };
  tick();
})();

// Copyright 2026 The mb_contact authors
// SPDX-License-Identifier: Apache-2.0

// Draws what nodes have many of (instances) as one mesh in a browser without a graphics card. Such a browser draws
// instances one by one, each as a call with textures to read, which takes it longer than to write their vertices anew;
// and in one mesh they are sorted, nearest first, so that what is hidden is not shaded. The picture is the same.
// Pointers still meet the instances, which only are drawn no more. Where that is slow yet, surfaces have no gloss.
(() => {
  if (window.mbContactMerged) return;
  const SOFTWARE = /swiftshader|llvmpipe|softpipe|software|basic render/i;
  const DYNAMIC = 35048;  // usage of buffers that change, as WebGL has it
  const FAR = 0.15;  // how much coarser shapes may be that are so small that one sees no more of them, of their radii
  const LEAST = 60, MOST = 400;  // triangles of what is made coarser
  const EVERY = 30;  // frames between two looks for nodes that have come
  // Light of surfaces without gloss, put behind the functions that it takes the place of.
  const ARGUMENTS = `const in vec3 p, const in vec3 normal, const in vec3 v, const in vec3 c,
    const in PhysicalMaterial m, inout ReflectedLight r`;
  const PLACE = "#include <lights_physical_pars_fragment>";
  const MATT = `${PLACE}
    void directMatt(const in IncidentLight d, ${ARGUMENTS}) {
      r.directDiffuse += saturate(dot(normal, d.direction)) * d.color * BRDF_Lambert(m.diffuseColor);
    }
    void indirectMatt(const in vec3 light, ${ARGUMENTS}) { r.indirectDiffuse += light * BRDF_Lambert(m.diffuseColor); }
    #undef RE_Direct
    #undef RE_IndirectDiffuse
    #undef RE_IndirectSpecular
    #define RE_Direct directMatt
    #define RE_IndirectDiffuse indirectMatt
  `;
  const groups = new Map();  // those that look alike but for shapes and colours of instances
  const known = new Set();  // nodes in groups
  let scene = null, wait = 0;
  window.mbContactMerged = groups;  // for a console

  const matten = (material) => {
    if (material.type !== "MeshStandardMaterial" || material.metalness > 0 || material.userData.matt) return;
    material.userData.matt = true;
    material.onBeforeCompile = (shader) => {
      shader.fragmentShader = shader.fragmentShader.replace(PLACE, MATT);
    };
    material.needsUpdate = true;
  };

  // Vertices, normals and triangles of a geometry, those alone that it draws.
  const drawn = ({ attributes, index, drawRange }) => {
    const number = new Map(), position = [], normal = [];
    const triangles = Array.from(index.array.subarray(0, Math.min(drawRange.count, index.count)), (v) => {
      if (!number.has(v)) {
        number.set(v, number.size);
        position.push(...attributes.position.array.subarray(3 * v, 3 * v + 3));
        normal.push(...attributes.normal.array.subarray(3 * v, 3 * v + 3));
      }
      return number.get(v);
    });
    return { position, normal, triangles, size: number.size };
  };

  // The same with fewer triangles: places are put onto their neighbours as long as these lie nearer than so far [m] to
  // the planes about both. Along an edge where normals jump, places only go along it.
  const fewer = ({ position, normal, triangles: given }, far) => {
    const at = (v) => [position[3 * v], position[3 * v + 1], position[3 * v + 2]];
    const less = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
    const area = ([a, b, c]) => cross(less(at(b), at(a)), less(at(c), at(a)));
    const size = Math.max(...position.map(Math.abs)) || 1, names = new Map();
    const place = Array.from({ length: position.length / 3 }, (_, v) => {
      const name = at(v).map((x) => Math.round((1e5 * x) / size)).join();
      if (!names.has(name)) names.set(name, v);
      return names.get(name);
    });
    let triangles = [];
    for (let k = 0; k < given.length; k += 3) triangles.push(given.slice(k, k + 3));
    const planes = new Map(place.map((p) => [p, []]));
    for (const t of triangles) {
      const way = area(t), length = Math.hypot(...way);
      const plane = length > 0 && [...way.map((x) => x / length), dot(way, at(t[0])) / length];
      if (plane) for (const v of t) planes.get(place[v]).push(plane);
    }
    const off = (p, point) => Math.max(...planes.get(p).map((plane) => Math.abs(dot(plane, point) - plane[3])), 0);
    const stuck = new Set();
    for (;;) {
      const about = new Map();
      for (const t of triangles) for (const v of t) {
        if (!about.has(place[v])) about.set(place[v], []);
        about.get(place[v]).push(t);
      }
      let best = null;
      for (const [from, ring] of about) {
        for (const to of new Set(ring.flat().map((v) => place[v]))) {
          if (to === from || stuck.has(`${from},${to}`)) continue;
          const cost = off(from, at(to));
          if (cost < (best ? best.cost : far)) best = { cost, from, to, ring };
        }
      }
      if (!best) break;
      const { from, to, ring } = best, put = new Map();  // vertices of the one place to those of the other
      for (const t of ring) {
        const u = t.find((v) => place[v] === from), w = t.find((v) => place[v] === to);
        if (w !== undefined) put.set(u, w);
      }
      const kept = ring.filter((t) => !t.some((v) => place[v] === to));
      const fits = kept.every((t) => {
        const other = t.map((v) => (place[v] === from ? put.get(v) : v));
        if (other.includes(undefined)) return false;
        const [now, old] = [area(other), area(t)];
        return dot(now, old) > 0.3 * Math.hypot(...now) * Math.hypot(...old);
      });
      if (!fits) {
        stuck.add(`${from},${to}`);
        continue;
      }
      planes.set(to, [...new Set([...planes.get(to), ...planes.get(from)])]);
      triangles = triangles.filter((t) => !ring.includes(t) || kept.includes(t));
      for (const t of kept) t.forEach((v, i) => place[v] === from && (t[i] = put.get(v)));
    }
    const index = { array: Uint32Array.from(triangles.flat()), count: 3 * triangles.length };
    const [places, ways] = [position, normal].map((numbers) => ({ array: Float32Array.from(numbers) }));
    return drawn({ attributes: { position: places, normal: ways }, index, drawRange: { count: Infinity } });
  };

  const join = (node) => {
    const { material, castShadow, receiveShadow, geometry } = node, tinted = !!node.colorsTexture;
    const { roughness, metalness, side, flatShading, type } = material, colour = material.color.getHex();
    const looks = [type, roughness, metalness, side, flatShading, colour, castShadow, receiveShadow, tinted];
    const key = JSON.stringify(looks);
    if (!groups.has(key)) {
      const Mesh = Object.getPrototypeOf(node.constructor), Attribute = geometry.attributes.position.constructor;
      const mesh = new Mesh(new geometry.constructor(), Object.assign(material.clone(), { vertexColors: tinted, visible: true }));
      Object.assign(mesh, { castShadow, receiveShadow, frustumCulled: false, raycast: () => {} });
      scene.add(mesh);
      groups.set(key, { mesh, Attribute, tinted, members: new Map(), levels: "" });
    }
    const levels = node.LODinfo?.render?.levels || [{ distance: 0, object: node }];
    const shapes = levels.map(({ distance, object }) => ({ ...drawn(object.geometry), distance }));
    for (const { object } of levels) object.material.visible = false;
    const last = shapes[shapes.length - 1], count = last.triangles.length / 3, { radius } = geometry.boundingSphere;
    if (count > LEAST && count < MOST) shapes.push({ ...fewer(last, FAR * radius), error: 0.5 * FAR * radius });
    groups.get(key).members.set(node, { shapes, seen: [] });
    known.add(node);
  };

  // Room for so many vertices and corners of triangles.
  const reserve = ({ mesh: { geometry }, Attribute, tinted }, vertices, corners) => {
    if (geometry.index && geometry.index.count >= corners && geometry.attributes.position.count >= vertices) return;
    geometry.dispose();
    const attribute = (array, size) => Object.assign(new Attribute(array, size), { usage: DYNAMIC });
    for (const name of tinted ? ["position", "normal", "color"] : ["position", "normal"])
      geometry.setAttribute(name, attribute(new Float32Array(3 * Math.ceil(1.2 * vertices)), 3));
    geometry.setIndex(attribute(new Uint32Array(Math.ceil(1.2 * corners)), 1));
  };
  const send = (attribute, numbers) => {
    attribute.clearUpdateRanges();
    attribute.addUpdateRange(0, numbers);
    attribute.needsUpdate = true;
  };

  // What a node shows: where its instances are, and their colours.
  const state = (node) => {
    let shown = true, root = node;
    for (; root.parent; root = root.parent) shown = shown && root.visible;
    const n = shown && root === scene ? node.instancesCount : 0;
    const now = new Float32Array(16 + 20 * n);
    now.set(node.matrixWorld.elements);
    now.set(node.matricesTexture.image.data.subarray(0, 16 * n), 16);
    if (n && node.colorsTexture) now.set(node.colorsTexture.image.data.subarray(0, 4 * n), 16 + 16 * n);
    return { now, n, gone: root !== scene };
  };
  const same = (a, b) => a.length === b.length && a.every((value, k) => value === b[k]);

  const update = (group, camera, pixels) => {
    const [ex, ey, ez] = camera.matrixWorld.elements.slice(12);
    const place = camera.matrixWorld.clone(), local = place.clone(), rows = [];
    let moved = false, levels = "";
    for (const [node, member] of group.members) {
      const { now, n, gone } = state(node);
      if (gone) {
        group.members.delete(node);
        known.delete(node);
      }
      moved = moved || gone || !same(now, member.seen);
      member.seen = now;
      place.copy(node.matrixWorld);
      const counts = member.shapes.map(() => 0), coarse = member.shapes[member.shapes.length - 1];
      // its outline is then less than a pixel off
      if (coarse.error) coarse.distance = (0.5 * coarse.error * pixels * camera.projectionMatrix.elements[5]) ** 2;
      for (let k = 0; k < n; k++) {
        const matrix = local.fromArray(now, 16 + 16 * k).premultiply(place).elements.slice();
        const far = (matrix[12] - ex) ** 2 + (matrix[13] - ey) ** 2 + (matrix[14] - ez) ** 2;
        let level = member.shapes.length - 1;
        while (level > 0 && far < member.shapes[level].distance) level--;
        counts[level]++;
        const tint = 16 + 16 * n + 4 * k;
        rows.push({ matrix, far, shape: member.shapes[level], tint: now.subarray(tint, tint + 3) });
      }
      levels += `${counts};`;
    }
    if (!moved && levels === group.levels) return;
    group.levels = levels;
    rows.sort((a, b) => a.far - b.far);
    let vertices = 0, corners = 0, at = 0, corner = 0;
    for (const { shape } of rows) [vertices, corners] = [vertices + shape.size, corners + shape.triangles.length];
    group.mesh.visible = corners > 0;
    if (!corners) return;
    reserve(group, vertices, corners);
    const { geometry } = group.mesh, { position, normal, color } = geometry.attributes, index = geometry.index.array;
    const p = position.array, q = normal.array, c = color?.array;
    for (const { matrix: m, shape, tint } of rows) {
      const first = at / 3;
      for (const other of shape.triangles) index[corner++] = first + other;
      const u = 1 / (m[0] * m[0] + m[1] * m[1] + m[2] * m[2] || 1);  // normals are divided by the squares of scales
      const v = 1 / (m[4] * m[4] + m[5] * m[5] + m[6] * m[6] || 1);
      const w = 1 / (m[8] * m[8] + m[9] * m[9] + m[10] * m[10] || 1);
      for (let j = 0; j < 3 * shape.size; j += 3, at += 3) {
        const x = shape.position[j], y = shape.position[j + 1], z = shape.position[j + 2];
        const f = u * shape.normal[j], g = v * shape.normal[j + 1], h = w * shape.normal[j + 2];
        for (let i = 0; i < 3; i++) {
          p[at + i] = m[i] * x + m[4 + i] * y + m[8 + i] * z + m[12 + i];
          q[at + i] = m[i] * f + m[4 + i] * g + m[8 + i] * h;
          if (c) c[at + i] = tint[i];
        }
      }
    }
    for (const attribute of c ? [position, normal, color] : [position, normal]) send(attribute, 3 * vertices);
    send(geometry.index, corners);
    geometry.setDrawRange(0, corners);
  };

  const before = (camera, pixels) => {
    if (wait-- <= 0) {
      wait = EVERY;
      const found = [];
      scene.traverse((node) => {
        const { material } = node;
        if (node.isInstancedMesh2) {
          const { isMeshStandardMaterial: plain, transparent, wireframe, map } = material;
          const fits = plain && !transparent && !wireframe && !map && !node._parentLOD && node.instancesCount;
          if (fits && !known.has(node)) found.push(node);
        } else if (node.isMesh && window.mbContactCamera.matt) matten(material);
      });
      found.forEach(join);
    }
    for (const group of groups.values()) update(group, camera, pixels);
  };

  const begin = () => {
    const root = window.mbContactCamera?.viewer?.scene?.__r3f?.root;
    if (!root) {
      setTimeout(begin, 300);
      return;
    }
    const { gl, scene: found } = root.getState(), context = gl.getContext();
    const names = context.getExtension("WEBGL_debug_renderer_info");
    if (!SOFTWARE.test(context.getParameter(names ? names.UNMASKED_RENDERER_WEBGL : context.RENDERER))) return;
    scene = found;
    const former = scene.onBeforeRender;
    scene.onBeforeRender = (renderer, whole, camera, target) => {
      former.call(scene, renderer, whole, camera, target);
      before(camera, renderer.domElement.height);
    };
  };
  begin();
})();

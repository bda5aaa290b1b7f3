// Copyright 2026 The mb_contact authors
// SPDX-License-Identifier: Apache-2.0

// Records the picture of the scene into a WebM file that the browser saves; the text of a button's onclick.
((button) => {
  const running = window.mbContactRecorder;
  if (running) { running.stop(); return; }
  const canvas = document.querySelector("canvas[data-engine^=three]");  // others are plots and what the mouse marks
  const kinds = ["video/webm;codecs=vp8", "video/webm"];  // vp8: the simulation needs the processor too
  const kind = window.MediaRecorder && canvas && kinds.find((k) => MediaRecorder.isTypeSupported(k));
  if (!kind) { button.textContent = "this browser cannot record"; return; }
  const recorder = new MediaRecorder(canvas.captureStream(30), { mimeType: kind, videoBitsPerSecond: 8e6 });
  const parts = [];
  recorder.ondataavailable = (event) => {
    if (event.data.size) parts.push(event.data);
    button.dataset.parts = parts.length;
  };
  recorder.onstop = () => {
    window.mbContactRecorder = null;
    button.textContent = parts.length ? "record a video" : "no picture came in time: record again";
    if (!parts.length) return;
    const { URL } = window;  // in an onclick a bare URL is document.URL, a text
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(parts, { type: "video/webm" }));
    link.download = "mb_contact_" + new Date().toISOString().slice(0, 19).replace(/[T:]/g, "-") + ".webm";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  };
  recorder.start(500);
  window.mbContactRecorder = recorder;
  button.textContent = "stop and save the video";
})(this);

// Browsers refuse workers to pages that are opened from the file system. There the worker of the search runs in a hidden frame.
// The theme's worker recognizes the name of the class, and then finds its other scripts beside itself.
class IFrameWorker extends EventTarget {
  constructor(url) {
    super();
    const frame = document.createElement("iframe");
    frame.hidden = true;
    frame.title = "Search";
    this.loaded = new Promise((resolve) => frame.addEventListener("load", resolve));
    frame.srcdoc = `<script>
      window.postMessage = (data) => parent.postMessage(data, "*");
      window.importScripts = (...urls) => urls.reduce((before, url) => before.then(() => new Promise((resolve) => {
        const script = document.createElement("script");
        script.src = url;
        script.onload = resolve;
        document.head.appendChild(script);
      })), Promise.resolve());
    </script><script src="${url}"></script>`;
    document.body.appendChild(frame);
    this.frame = frame;
    window.addEventListener("message", (event) => {
      if (event.source === frame.contentWindow) {
        this.dispatchEvent(new MessageEvent("message", { data: event.data }));
      }
    });
  }

  postMessage(data) {
    this.loaded.then(() => {
      this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data: structuredClone(data) }));
    });
  }

  terminate() {
    this.frame.remove();
  }
}

if (location.protocol === "file:") {
  window.IFrameWorker = IFrameWorker;
  window.Worker = IFrameWorker;
}

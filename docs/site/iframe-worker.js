/*
 * A browser starts no worker from a file. The search runs in a hidden frame then, with the interface of a worker.
 * Zensical would load such a script from outside.
 */
if (location.protocol === "file:") {
  window.Worker = class {
    onmessage = null;
    onerror = null;

    constructor(url) {
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inner = this.frame.contentWindow;
      this.ready = new Promise((resolve, reject) => {
        const script = inner.document.createElement("script");
        script.src = new URL(url, location.href);
        script.onload = resolve;
        script.onerror = reject;
        inner.postMessage = (data) => setTimeout(() => this.onmessage?.({ data }));
        inner.document.body.append(script);
      });
      this.ready.catch((error) => this.onerror?.(error));
    }

    postMessage(data) {
      const send = () => this.frame.contentWindow?.dispatchEvent(new MessageEvent("message", { data }));
      this.ready.then(send, () => undefined);
    }

    terminate() {
      this.frame.remove();
    }
  };
}

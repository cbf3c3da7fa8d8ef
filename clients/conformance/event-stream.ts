/** A connection over server-sent events. */
export class EventStream {
  readonly body: ReadableStream<string>;
  #controller: ReadableStreamDefaultController<string> | undefined;
  readonly #onEnd: () => void;

  constructor(onEnd: () => void) {
    this.#onEnd = onEnd;
    this.body = new ReadableStream({
      start: (controller) => {
        this.#controller = controller;
      },
      cancel: () => this.#end(),
    });
  }

  send(text: string): void {
    this.#controller?.enqueue(`data: ${text}\n\n`);
  }

  close(code: number, reason: string): void {
    this.#controller?.enqueue(`event: closed\ndata: ${JSON.stringify({ code, reason })}\n\n`);
    this.terminate();
  }

  terminate(): void {
    this.#controller?.close();
    this.#end();
  }

  #end(): void {
    if (this.#controller) this.#onEnd();
    this.#controller = undefined;
  }
}

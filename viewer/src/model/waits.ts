// Questions that are not answered yet: how far each is, and a way to end it.

/** A question to the server. */
export interface Wait {
    /** Its number, which no other question to the server has. */
    number: number;
    /** When it was asked, ms. */
    since: number;
}

export class Waits {
    private readonly all = new Map<number, Wait>();
    private listener: ((waits: Wait[]) => void) | null = null;

    /** Calls `listener` whenever a question is asked or answered. Returns what ends that. */
    tell(listener: (waits: Wait[]) => void): () => void {
        this.listener = listener;
        listener([...this.all.values()]);
        return () => void (this.listener = null);
    }

    /** Keeps a question as long as its answer is on the way. */
    async during<T>(ask: (number: number) => Promise<T>): Promise<T> {
        const number = Math.floor(Math.random() * 2 ** 48);
        this.all.set(number, { number, since: performance.now() });
        this.listener?.([...this.all.values()]);
        try {
            return await ask(number);
        } finally {
            this.all.delete(number);
            this.listener?.([...this.all.values()]);
        }
    }
}

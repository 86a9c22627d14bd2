// What cannot be read of a recording: an answer says so as soon as it comes across it.

/** The objects of packs that say what is missing. */
interface Saying {
    damage?: readonly string[];
    about?: { damage: readonly string[] };
}

/** Each statement once. They are about the file, so they hold for all views. */
export class Damage {
    private all: string[] = [];
    private told: (all: string[]) => void = () => {};

    /** Calls `told` with all statements whenever there are more or fewer. */
    tell(told: (all: string[]) => void): void {
        this.told = told;
        told(this.all);
    }

    add({ damage = [], about }: Saying): void {
        const more = [...new Set([...(about?.damage ?? []), ...damage].map(sentence))].filter((text) => !this.all.includes(text));
        if (more.length === 0) return;
        this.all = [...this.all, ...more];
        this.told(this.all);
    }

    /** The file is read anew. */
    clear(): void {
        this.all = [];
        this.told(this.all);
    }
}

/** A statement of a report as a sentence of the page. */
function sentence(text: string): string {
    const plain = text.replaceAll(" from this report", "");
    return `${plain.charAt(0).toUpperCase()}${plain.slice(1)}.`;
}

// The theme that was chosen, remembered in the browser.

export type Theme = "light" | "dark";

const NAME = "memtoll_theme";
const YEAR_S = 365 * 24 * 3600;

const themeOf = (text: string | null | undefined): Theme | null => (text === "light" || text === "dark" ? text : null);

/** In a cookie, because each server has a port of its own, and cookies are not told apart by port; a page in a file has no cookies. */
export function rememberedTheme(): Theme | null {
    try {
        const cookie = document.cookie.split("; ").find((one) => one.startsWith(`${NAME}=`));
        return themeOf(cookie?.slice(NAME.length + 1) ?? localStorage.getItem(NAME));
    } catch {
        // The browser keeps nothing of this page.
        return null;
    }
}

export function rememberTheme(theme: Theme): void {
    try {
        document.cookie = `${NAME}=${theme}; max-age=${YEAR_S}; path=/; SameSite=Strict`;
        localStorage.setItem(NAME, theme);
    } catch {
        // It lasts as long as the page.
    }
}

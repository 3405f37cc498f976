// Untrusted text: removes marks that would change the direction of the surrounding text.

/** Marks that embed, override or isolate a direction until a closing mark. */
const turns = /[\u202a-\u202e\u2066-\u2069]/g;

/**
 * Removes these marks, because an unclosed isolate would consume the end of its <bdi>.
 * Point marks (U+200E, U+200F, U+061C) remain, because names in some languages need them.
 */
export function stripBidiControls(text: string): string {
  return text.replace(turns, '');
}

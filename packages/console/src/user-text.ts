// Texts of others, made harmless for what stands beside them.

/** Marks that embed, override or isolate a direction until another mark ends that. */
const turns = /[\u202a-\u202e\u2066-\u2069]/g;

/**
 * The text without what would turn the text behind it: an isolate that it opens and leaves open takes the end of <bdi> for its own.
 * Marks of one place (U+200E, U+200F, U+061C), without which names in some languages come out wrong, stay.
 */
export function stripBidiControls(text: string): string {
  return text.replace(turns, '');
}

/**
 * The text that a stream generates, kept to count its tokens should the backend not do so.
 *
 * Slow readers keep streams open for long, so what is kept of each has a bound. It holds all of an usual answer; of a
 * longer one it holds the beginning, and what follows is taken to have as many tokens for its length.
 */

export const KEPT_CHARACTERS = 128 * 1024

export interface GeneratedText {
  kept: string
  /** Characters generated, kept or not. */
  length: number
}

export function noText(): GeneratedText {
  return { kept: '', length: 0 }
}

export function addText(text: GeneratedText, piece: string): void {
  const room = KEPT_CHARACTERS - text.kept.length
  if (room > 0) text.kept += piece.length <= room ? piece : piece.slice(0, room)
  text.length += piece.length
}

/** Tokens of all of it, where those of the kept part are known. */
export function scaleToWhole({ kept, length }: GeneratedText, tokensKept: number): number {
  return kept.length === length ? tokensKept : Math.round((tokensKept * length) / kept.length)
}

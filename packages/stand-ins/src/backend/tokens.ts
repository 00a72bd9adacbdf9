/**
 * A simple deterministic tokenizer: the same text always has the same count, and the tokens of a text joined are the
 * text. A token is an optional space with up to six word characters, a run of white space, or one other character.
 */

const WORD_LENGTH = 6

export function countTokens(text: string): number {
  let count = 0
  for (let at = 0; at < text.length; at = tokenEnd(text, at)) count++
  return count
}

export function splitTokens(text: string): string[] {
  const tokens: string[] = []
  for (let at = 0; at < text.length;) {
    const end = tokenEnd(text, at)
    tokens.push(text.slice(at, end))
    at = end
  }
  return tokens
}

function tokenEnd(text: string, start: number): number {
  let at = start
  if (isSpace(text.charCodeAt(at))) {
    at++
    while (at < text.length && isSpace(text.charCodeAt(at))) at++
    // A run of white space keeps its last space for the word that follows.
    if (at - start > 1) return at < text.length ? at - 1 : at
    if (at === text.length) return at
  }
  const wordStart = at
  while (at < text.length && at - wordStart < WORD_LENGTH && isWord(text.charCodeAt(at))) at++
  if (at === wordStart) return at + 1
  // Never between the halves of a surrogate pair.
  return isHighSurrogate(text.charCodeAt(at - 1)) && at < text.length ? at + 1 : at
}

function isSpace(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13)
}

function isWord(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57) || code >= 128
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}

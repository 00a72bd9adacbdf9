/**
 * Claude Code's attribution block: a line at the head of a system text, with the client's version and a fingerprint of the
 * conversation. In some versions it changes with each turn. Anthropic's own API takes it out of the prompt.
 *
 * The vendor's page is code.claude.com/docs/en/llm-gateway-protocol, "System prompt attribution block", read in November 2026. A
 * text that quotes the line elsewhere does not begin with the block.
 */

export const ATTRIBUTION = 'x-anthropic-billing-header:'

const BEGIN = /^\s*x-anthropic-billing-header:/
/** `cc_version=2.1.330.0d9; cc_entrypoint=cli;`, whose last semicolon may be missing at the end of the line. */
const PAIRS = /^(?:[ \t]*[\w-]+=[^;\s]*;)*(?:[ \t]*[\w-]+=[^;\s]+(?=[ \t]*(?:[\r\n]|$)))?/
/** Clients that join blocks without a space write the next text right behind. A sentence about the line goes on with a space. */
const END = /^(?:[ \t]*(?:$|[\r\n]\s*)|(?=\S))/

/** The text behind the block, or the text itself where it begins with none. */
export function withoutAttribution(text: string): string {
  const named = behind(BEGIN, text)
  const paired = named === null ? null : behind(PAIRS, named)
  return (paired === null || paired === named ? null : behind(END, paired)) ?? text
}

function behind(pattern: RegExp, text: string): string | null {
  const match = pattern.exec(text)
  return match === null ? null : text.slice(match[0].length)
}

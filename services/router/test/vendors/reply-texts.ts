/** The text of every stand-in's reply, and its usage. */

export const TEXTS = ['Hel', 'lo ', 'thére']
export const COUNTED = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 }

/** How OpenAI streams, and most vendors with it. */

export const OPENAI_LIKE = {
  first: 'role',
  role: 'absent',
  finish: 'in a chunk of its own',
  usage: 'if asked, without choices',
  sign: null,
  silentMs: { first: 120_000, between: 60_000, source: 'assumed' },
} as const

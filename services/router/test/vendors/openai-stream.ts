/** The behaviour of OpenAI's streams, and of most vendors' with it. */

export const OPENAI_LIKE = {
  first: 'role',
  role: 'absent',
  finish: 'in a chunk of its own',
  usage: 'if requested, without choices',
  keepAlive: null,
  silentMs: { first: 120_000, between: 60_000, source: 'assumed' },
} as const

/** The parameters that a target may refuse, by the router's reaction (`core/parameter-support.ts`). */

/** The client's, left out and reported. */
export const DROPPED = [
  'temperature',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'logprobs',
  'top_logprobs',
  'logit_bias',
  'parallel_tool_calls',
  'seed',
  'top_k',
  'reasoning_effort',
] as const
/** The client's, which some servers ignore without a word. Never learnt: others refuse only some values of them. */
export const IGNORED = ['n', 'tool_choice'] as const
/** Each may be written as the other. */
export const CAPS = ['max_completion_tokens', 'max_tokens'] as const
export const SYSTEM_ROLES = ['system', 'developer'] as const
/** The router's own: no client misses them. */
export const OWN_OF_CHAT = ['stream_options'] as const
export const OWN_OF_IMAGES = ['response_format', 'output_format'] as const
/** The router's own choices where it writes a Messages request (`core/messages-form.ts`). */
export const OWN_OF_MESSAGES = [
  ...(['adaptive_thinking', 'thinking_budget', 'thinking_off'] as const),
  ...(['forced_tools', 'structured_output'] as const),
]
export type OwnOfMessages = (typeof OWN_OF_MESSAGES)[number]

const OF_CHAT = [...DROPPED, ...IGNORED, ...CAPS, ...SYSTEM_ROLES, ...OWN_OF_CHAT]
/** Roles of messages count as parameters, too. */
export type Parameter = (typeof OF_CHAT)[number] | (typeof OWN_OF_IMAGES)[number] | OwnOfMessages
export type Cap = (typeof CAPS)[number]

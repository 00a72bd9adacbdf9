/**
 * What is known of a target before it has refused anything, by its vendor and its model. A row is worth having only
 * where the first refusal would hit every client, or where the server ignores a parameter and says nothing. The router
 * learns the rest (`core/refused-parameters.ts`), and a lesson also overrules a row.
 */

import type { JobKind } from '@gateway/contracts/job'
import type { Parameter, TargetForm } from './target-form.ts'

type Form = (model: string) => TargetForm

const NEVER = (...parameters: Parameter[]): TargetForm => parameters.map((parameter) => ({ parameter }))

/** The types of `openai` 7.55 (2026): models that reason refuse `max_tokens`, under whatever address. */
const BY_NAME: Form = (model) =>
  /^(?:openai[/.])?(?:gpt-(?:[5-9]|1\d)|o\d)(?![\da-z])/i.test(model) ? NEVER('max_tokens') : []

const OF_CHAT: Record<string, Form> = {
  // All of its chat models take `max_completion_tokens` (the types of `openai` 7.55, 2026).
  openai: () => NEVER('max_tokens'),
  // It refuses `max_completion_tokens` (editor-code-assistant/eca#231, 2025-12-12).
  mistral: () => NEVER('max_completion_tokens'),
  // It ignores `max_completion_tokens` and generates on (ollama/ollama#7125, 2026-08-21, 0.32.5), and whatever else is not
  // in its request (`taken-members.ts`).
  ollama: () => NEVER('max_completion_tokens', 'n', 'tool_choice'),
  // Its SDK's request has no `n` (`@openrouter/sdk` 1.3.19, 2026); that it answers one choice then is assumed.
  openrouter: (model) => [...BY_NAME(model), ...NEVER('n')],
  // Its documents name `max_tokens` alone (lmstudio.ai/docs/api/openai-api, read in November 2026); that it ignores the
  // other name is assumed.
  'lm-studio': () => NEVER('max_completion_tokens'),
}

/** OpenAI's `dall-e` models know `response_format` alone, its GPT image models `output_format` alone (the types of `openai` 7.55, 2026). */
function ofImages(model: string): TargetForm {
  if (/(?:^|\/)(?:gpt-image|chatgpt-image)/i.test(model)) return NEVER('response_format')
  return /(?:^|\/)dall-?e/i.test(model) ? NEVER('output_format') : []
}

export function knownForm(vendor: string, model: string, kind: JobKind): TargetForm {
  if (kind === 'images') return ofImages(model)
  return kind === 'chat' ? (OF_CHAT[vendor] ?? BY_NAME)(model) : []
}

/**
 * Vendors whose documents list the members that they take, and say that they ignore all others. A member is described as
 * OpenAI does it.
 */

interface Described {
  properties: Record<string, object>
  definitions?: object
}

export const DOCUMENTED = {
  vertex: {
    source: 'cloud.google.com/vertex-ai/generative-ai/docs/migrate/openai/overview, of google/ models, 2026-09-17',
    // The router's own `stream_options` is ignored as well: usage comes anyway.
    members: `extra_body frequency_penalty function_call functions max_completion_tokens max_tokens messages modalities model
      n presence_penalty reasoning_effort response_format seed stop stream stream_options temperature tool_choice tools
      top_p web_search_options`,
  },
}

export function schemaOfMembers(members: string, openai: Described): object {
  const properties = Object.fromEntries(members.split(/\s+/).map((name) => [name, openai.properties[name] ?? {}]))
  return { ...openai, properties, required: ['messages'], additionalProperties: false }
}

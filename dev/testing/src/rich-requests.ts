/** A request of each client's dialect that holds each kind of item, part and tool that the gateway reads. */

const SCHEMA = { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] }
const TEXT = { type: 'text', text: 'Hello' }
const EPHEMERAL = { cache_control: { type: 'ephemeral' } }

export const RICH_REQUESTS = {
  chat: {
    model: 'm',
    messages: [
      { role: 'system', content: [{ ...TEXT, ...EPHEMERAL }] },
      { role: 'developer', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          TEXT,
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'low' } },
          { type: 'file', file: { file_data: 'data:application/pdf;base64,AAAA', filename: 'a.pdf' } },
          { type: 'file', file: { file_id: 'file_1' } },
        ],
      },
      {
        role: 'assistant',
        content: [{ type: 'refusal', refusal: 'no' }],
        reasoning_content: 'so',
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"at":"home"}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'a fox' },
    ],
    tools: [{ type: 'function', function: { name: 'look', description: 'Looks.', parameters: SCHEMA } }],
    tool_choice: { type: 'function', function: { name: 'look' } },
    response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: SCHEMA } },
    reasoning_effort: 'low',
    service_tier: 'flex',
    speed: 'fast',
    stop: ['end'],
    user: 'u',
    metadata: { team: 'search' },
    verbosity: 'low',
    chat_template_kwargs: { mode: 'x' },
  },
  responses: {
    model: 'm',
    instructions: 'Be brief.',
    input: [
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Hello' }] },
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'Hello' },
          { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'low' },
          { type: 'input_file', file_data: 'data:application/pdf;base64,AAAA', filename: 'a.pdf' },
        ],
      },
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'so' }] },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello' }] },
      { type: 'function_call', call_id: 'c1', name: 'look', namespace: 'zoo', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_text', text: 'a fox' }] },
      { type: 'custom_tool_call', call_id: 'c2', name: 'patch', input: 'x' },
      { type: 'custom_tool_call_output', call_id: 'c2', output: 'done' },
      { type: 'additional_tools', role: 'developer', tools: [{ type: 'function', name: 'later' }] },
      { type: 'web_search_call', id: 'ws_1', status: 'completed' },
    ],
    tools: [
      { type: 'function', name: 'look', parameters: SCHEMA },
      { type: 'custom', name: 'patch', format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' } },
      { type: 'namespace', name: 'zoo', tools: [{ type: 'function', name: 'look', parameters: SCHEMA }] },
      { type: 'web_search' },
    ],
    tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'look' }] },
    text: { format: { type: 'json_schema', name: 'answer', schema: SCHEMA }, verbosity: 'low' },
    reasoning: { effort: 'low', summary: 'auto' },
    include: ['reasoning.encrypted_content'],
    metadata: { team: 'search' },
    service_tier: 'flex',
    truncation: 'auto',
    prompt_cache_key: 'k',
    user: 'u',
  },
  messages: {
    model: 'm',
    max_tokens: 100,
    system: [{ ...TEXT, ...EPHEMERAL }],
    messages: [
      {
        role: 'user',
        content: [
          TEXT,
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
          { type: 'document', title: 'a', source: { type: 'content', content: [TEXT] }, citations: { enabled: true } },
          { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'Hello' } },
          { type: 'search_result', source: 's', title: 't', content: [TEXT] },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'so', signature: 'svc_unsigned' },
          { type: 'thinking', thinking: 'so', signature: 'signed' },
          { type: 'compaction', content: 'before' },
          TEXT,
          { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: 'fox' } },
          { type: 'tool_use', id: 't1', name: 'look', input: { at: 'home' } },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: [TEXT] }] },
    ],
    tools: [
      { name: 'look', type: 'custom', description: 'Looks.', input_schema: SCHEMA, ...EPHEMERAL },
      { type: 'web_search_20250305', name: 'web_search' },
    ],
    tool_choice: { type: 'tool', name: 'look' },
    thinking: { type: 'enabled', budget_tokens: 2_048, display: 'summarized' },
    output_config: { format: { type: 'json_schema', schema: SCHEMA }, effort: 'low' },
    stop_sequences: ['end'],
    metadata: { user_id: 'u' },
    service_tier: 'auto',
    speed: 'fast',
  },
} as const

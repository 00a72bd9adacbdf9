// An agent with one tool. Its session is compacted by the API after a run whose last response was large.
import { execFileSync } from 'node:child_process'
import { Agent, MemorySession, OpenAIResponsesCompactionSession, run, setTracingDisabled, tool } from '@openai/agents'
import { z } from 'zod'

setTracingDisabled(true)
const shell = tool({
  name: 'shell',
  description: 'Runs a command',
  parameters: z.object({ command: z.string() }),
  execute: ({ command }) => execFileSync('sh', ['-c', command], { encoding: 'utf8' }),
})
const agent = new Agent({
  name: 'Worker',
  instructions: 'Use the tool.',
  model: process.env.MODEL,
  tools: [shell],
})
const [task, end] = process.argv.slice(2)
let inputTokens = 0
const session = new OpenAIResponsesCompactionSession({
  model: process.env.MODEL,
  underlyingSession: new MemorySession(),
  // The gateway stores no response: each request brings the conversation.
  compactionMode: 'input',
  shouldTriggerCompaction: () => false,
})
let output = ''
for (let turn = 0; turn < 30 && !output.includes(end); turn++) {
  const stream = await run(agent, turn === 0 ? task : 'Go on.', { stream: true, session })
  for await (const event of stream)
    if (event.type === 'raw_model_stream_event' && event.data.type === 'response_done')
      inputTokens = event.data.response.usage.inputTokens
  await stream.completed
  output = stream.finalOutput
  if (inputTokens > 60_000) await session.runCompaction({ force: true })
}
process.stdout.write(output)

// The Agents SDK of OpenAI: one agent, one tool, a plain run and a streamed one. It reads address and key by itself.
import { Agent, run, setTracingDisabled, tool } from '@openai/agents'
import { z } from 'zod'

setTracingDisabled(true)
const requested = []
const weather = tool({
  name: 'get_weather',
  description: 'The weather of a city',
  parameters: z.object({ city: z.string() }),
  execute: ({ city }) => {
    requested.push(city)
    return `${city}: sunny`
  },
})
const agent = new Agent({ name: 'Guide', instructions: 'Be brief.', model: process.env.MODEL, tools: [weather] })

const plain = await run(agent, 'How is it in Lisbon?')
const streamed = await run(agent, 'How is it in Lisbon?', { stream: true })
let text = ''
for await (const piece of streamed.toTextStream()) text += piece
await streamed.completed
process.stdout.write(
  JSON.stringify({ plain: plain.finalOutput, streamed: text, requested, history: streamed.history.length }),
)

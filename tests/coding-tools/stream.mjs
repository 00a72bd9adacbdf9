// The Agents SDK of OpenAI: one streamed run after another, and for each its text or the error that a person reads.
import { Agent, run, setTracingDisabled } from '@openai/agents'

setTracingDisabled(true)
const agent = new Agent({ name: 'Worker', model: process.env.MODEL })

async function streamed() {
  try {
    const result = await run(agent, 'Do the task.', { stream: true })
    let text = ''
    for await (const piece of result.toTextStream()) text += piece
    await result.completed
    return text
  } catch (error) {
    return `${error.name}: ${error.message}`
  }
}

process.stdout.write(JSON.stringify({ first: await streamed(), second: await streamed() }))

import { expect, test } from 'vitest'
import { promptsOf, readGrammars } from './grammar.ts'

const GRAMMAR = `# A comment
$city = Lyon | Porto
== research,nova
weather in {city} [today|tomorrow]
== spark
hi >> hello >> [thanks|bye]
`

test('slots and alternatives are filled, turns are parted, and the same file gives the same prompts', () => {
  const prompts = promptsOf(GRAMMAR, 'en')
  const texts = prompts.filter(({ lane }) => lane === 'research').map(({ messages }) => messages[0]?.content)
  expect(texts.length).toBeGreaterThan(1)
  for (const text of texts) expect(text).toMatch(/^weather in (Lyon|Porto) (today|tomorrow)$/)
  const rpc = prompts.find(({ lane }) => lane === 'spark')
  expect(rpc?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
  expect(promptsOf(GRAMMAR, 'en')).toEqual(prompts)
})

test('no prompt of the repository holds a slot or an alternative that nobody filled', () => {
  const prompts = readGrammars()
  expect(prompts.length).toBeGreaterThan(5_000)
  for (const { messages } of prompts) {
    for (const { content } of messages)
      expect(content).not.toMatch(/\[[^[\]\n]*\|[^[\]\n]*\]|\{(?:city|country|n|lang|topic)\}/)
  }
})

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { judge, MAX_WORDS, wordsOf } from './judge-sentences.ts'
import { readMarkdown } from './read-markdown.ts'

const problemsOf = (page: string) => readMarkdown(page).flatMap(judge)
const words = (count: number) => Array.from({ length: count }, () => 'word').join(' ')

describe('a sentence', () => {
  test('may have 25 words and no more', () => {
    expect(problemsOf(`${words(MAX_WORDS)}.`)).toEqual([])
    expect(problemsOf(`${words(MAX_WORDS + 1)}.`)).toMatchObject([{ line: 1, problem: '26 words, at most 25' }])
  })

  test('is counted over the lines of its paragraph', () => {
    expect(problemsOf(`${words(20)}\n${words(20)}.`)).toHaveLength(1)
    expect(problemsOf(`${words(20)}.\n\n${words(20)}.`)).toEqual([])
  })

  test('ends at a full stop, also behind code, a bracket or bold type', () => {
    for (const end of ['.', '`code`.', '(brackets).', '**bold.**']) {
      expect(problemsOf(`${words(20)} ${end} Then ${words(20)}.`)).toEqual([])
    }
  })

  test.each([
    'What is left is what ends.',
    'The edge tells whom it asked.',
    'Whoever opens closes.',
    'The log names what failed.',
    'The end is told by who asked.',
    'How long it takes is open.',
  ])('has no clause as a noun: %s', (sentence) => {
    expect(problemsOf(sentence)).toMatchObject([{ problem: expect.stringContaining('a clause as a noun') }])
  })

  test.each(['What failed? The edge.', 'A client who leaves pays.', 'See `what` in the table.', '## What failed'])(
    'may be a question, a relative clause or a quotation: %s',
    (sentence) => {
      expect(problemsOf(sentence)).toEqual([])
    },
  )
})

describe('a page', () => {
  const long = `${words(30)}.`

  test.each([
    ['code', `\`\`\`sh\n${long}\n\`\`\``],
    ['a part that a run writes', `<!-- begin table -->\n${long}\n<!-- end table -->`],
    ['a part that a test writes', `<!-- section faults: written by its test -->\n${long}\n<!-- end of faults -->`],
    ['a part that a command writes', `<!-- table: written by \`npm run x\` -->\n| ${long} |\n<!-- /table -->`],
    ['a comment', `<!-- ${long} -->`],
  ])('is not judged for %s, and has no words there', (_, page) => {
    expect(readMarkdown(`Before.\n\n${page}\n\nAfter.`).map(({ text }) => text)).toEqual(['Before.', 'After.'])
  })

  test('names the line of a list item or a cell', () => {
    expect(problemsOf(`# Page\n\n- short\n- ${long}`)).toMatchObject([{ line: 4 }])
    expect(problemsOf(`| Head |\n| --- |\n| ${long} |`)).toMatchObject([{ line: 3 }])
  })

  test('may use a semicolon for a full stop in a cell only', () => {
    const two = `${words(20)}; ${words(20)}`
    expect(problemsOf(`| ${two} |`)).toEqual([])
    expect(problemsOf(two)).toHaveLength(1)
  })
})

test('inline code is one word, and a link is its text', () => {
  expect(wordsOf('See [the page](docs/a b.md), or `npm run a b`.')).toHaveLength(5)
})

test('words are the same however lines are broken', () => {
  const page = fc.array(fc.stringMatching(/^[a-z]{1,8}$/), { minLength: 1, maxLength: 60 })
  fc.assert(
    fc.property(page, fc.integer({ min: 1, max: 59 }), (all, at) => {
      const broken = `${all.slice(0, at).join(' ')}\n${all.slice(at).join(' ')}`
      expect(readMarkdown(broken).flatMap(({ text }) => wordsOf(text))).toEqual(all)
    }),
  )
})

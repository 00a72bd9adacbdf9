import { expect, test } from 'vitest'
import { findDeadLinks } from './find-dead-links.ts'
import { readMarkdown } from './read-markdown.ts'

const pages = (texts: Record<string, string>) =>
  Object.entries(texts).map(([path, text]) => ({ path, text, blocks: readMarkdown(text) }))

const find = (texts: Record<string, string>) => [...findDeadLinks(pages(texts), (path) => path in texts)]

test('a link may lead to a file, to a heading of it, to a heading of its own page, or out', () => {
  expect(
    find({
      'docs/a.md':
        '# A page, `code`\n\nSee [b](../b.md), [c](../b.md#one-two), [d](#a-page-code), [e](https://example.com/#x).',
      'b.md': '<!-- begin run -->\n\n## One: two\n\n<!-- end run -->',
    }),
  ).toEqual([])
})

test('a link that leads nowhere is named with its line', () => {
  expect(find({ 'a.md': '# A\n\n[b](gone.md)\n\n[c](#gone)\n\n| [d](a.md#b) |' })).toEqual([
    'a.md:3: the link leads nowhere: gone.md',
    'a.md:5: the link leads nowhere: #gone',
    'a.md:7: the link leads nowhere: a.md#b',
  ])
})

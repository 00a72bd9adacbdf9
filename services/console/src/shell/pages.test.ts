import { expect, test } from 'vitest'
import { ACCOUNT_PAGES, ORGANIZATION_PAGES, pageAt, pathTo, PROJECT_PAGES } from './pages.ts'

const ALL = [...ACCOUNT_PAGES, ...PROJECT_PAGES, ...ORGANIZATION_PAGES]

test('each page is at its own address, with its parameters', () => {
  for (const page of ALL) {
    const parameters = Object.fromEntries([...page.path.matchAll(/:(\w+)/g)].map(([, name]) => [name!, 'proj_1']))
    expect(pageAt(pathTo(page, parameters))).toEqual({ page, parameters })
  }
})

test.each(['/nowhere', '/projects/', '/projects/proj_1/nowhere', '/keys/more'])(
  '%s is no page: the first one is shown',
  (path) => {
    expect(pageAt(path)).toEqual({ page: ACCOUNT_PAGES[0], parameters: {} })
  },
)

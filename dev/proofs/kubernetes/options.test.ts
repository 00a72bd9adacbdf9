import { expect, test } from 'vitest'
import { readOptions } from './options.ts'

const read = (line: string) => readOptions(line.split(' ').filter(Boolean), '1.2.3')

test('without a context, the command builds a cluster of its own', () => {
  expect(read('')).toEqual({ kind: 'own cluster', isApiOnly: false, only: '' })
  expect(read('--api-only --only restart')).toEqual({ kind: 'own cluster', isApiOnly: true, only: 'restart' })
})

test('with a context, the proof runs there, with the images of a registry', () => {
  expect(read('--context kind --registry registry.test/gateway')).toMatchObject({
    kind: 'given cluster',
    context: 'kind',
    images: { registry: 'registry.test/gateway', tag: '1.2.3', pullPolicy: 'IfNotPresent' },
  })
  const { images } = read('--context kind --registry r --tag 2 --other-tag 3') as { images: object }
  expect(images).toMatchObject({ tag: '2', otherTag: '3' })
})

test.each([
  ['--context kind', '--registry the place of the images'],
  ['--context= --registry r', '--context needs a name'],
  ['--context kind --registry r --api-only', 'drop --context'],
  ['--registry r', '--registry is for a cluster that --context names'],
  ['--other-tag 3', '--other-tag is for a cluster that --context names'],
  ['--contxt kind', '--contxt'],
])('%s is refused', (line, complaint) => {
  expect(() => read(line)).toThrow(complaint)
})

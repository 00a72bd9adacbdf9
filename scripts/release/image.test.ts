/**
 * The images of a release without an engine: the arguments for buildx, and the reading of its archives. `npm run prove
 * release` builds the images.
 */

import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { unpackCommit } from './git.ts'
import { buildArguments, digestOfContents, type ImagePlan } from './image.ts'
import { sha256 } from './provenance.ts'

const ROOT = join(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'gateway-release-image-'))
afterAll(() => rmSync(folder, { recursive: true }))

const plan: ImagePlan = {
  target: 'edge',
  version: '1.2.3',
  commit: 'c0ffee',
  createdAt: 1_790_000_000,
  checkout: '/checkout',
  archive: '/out/edge.oci.tar',
}

test('buildx gets the target, its version and commit, and writes an archive whose times are those of the commit', () => {
  const words = buildArguments(plan).join(' ')
  expect(words).toBe(
    'buildx build --file /checkout/deploy/Dockerfile --target edge --build-arg VERSION=1.2.3 --build-arg REVISION=c0ffee ' +
      '--provenance mode=max --output type=oci,dest=/out/edge.oci.tar,name=model-gateway/edge:1.2.3,rewrite-timestamp=true /checkout',
  )
})

test('another base takes the place of the Dockerfile’s', () => {
  const words = buildArguments({ ...plan, base: 'docker-image://registry.test/node:26' }).join(' ')
  expect(words).toContain('--build-arg NODE_IMAGE=base --build-context base=docker-image://registry.test/node:26 ')
})

test('the Dockerfile takes every argument that it is given', () => {
  const dockerfile = readFileSync(join(ROOT, 'deploy/Dockerfile'), 'utf8')
  for (const name of ['VERSION', 'REVISION', 'NODE_IMAGE', 'SOURCE_DATE_EPOCH']) {
    expect(dockerfile).toMatch(new RegExp(`^ARG ${name}\\b`, 'm'))
  }
})

const INDEX = 'application/vnd.oci.image.index.v1+json'
const MANIFEST = 'application/vnd.oci.image.manifest.v1+json'
const image = { mediaType: MANIFEST, digest: 'sha256:image', platform: { os: 'linux', architecture: 'amd64' } }
const attestation = { mediaType: MANIFEST, digest: 'sha256:told', platform: { os: 'unknown', architecture: 'unknown' } }

function archiveOf(manifests: object[]): string {
  const layout = mkdtempSync(join(folder, 'layout-'))
  const write = (path: string, content: string) => {
    mkdirSync(dirname(join(layout, path)), { recursive: true })
    writeFileSync(join(layout, path), content)
  }
  const inner = JSON.stringify({ manifests })
  const digest = sha256(Buffer.from(inner))
  write(`blobs/sha256/${digest}`, inner)
  write('index.json', JSON.stringify({ manifests: [{ mediaType: INDEX, digest: `sha256:${digest}` }] }))
  execFileSync('tar', ['-cf', `${layout}.tar`, '-C', layout, 'index.json', 'blobs'])
  return `${layout}.tar`
}

test('the digest of an archive’s contents is that of its one image, also with other attestations', async () => {
  expect(await digestOfContents(archiveOf([image, attestation]))).toBe('sha256:image')
  expect(await digestOfContents(archiveOf([attestation, image]))).toBe('sha256:image')
  expect(await digestOfContents(archiveOf([image]))).toBe('sha256:image')
})

test('an archive without an image, or with several, has no such digest', async () => {
  await expect(digestOfContents(archiveOf([attestation]))).rejects.toThrow('holds 0 images')
  await expect(digestOfContents(archiveOf([image, { ...image, digest: 'sha256:b' }]))).rejects.toThrow('holds 2 images')
})

test('a build sees the files of the commit, each with the time of the commit', async () => {
  const checkout = join(folder, 'checkout')
  await unpackCommit(ROOT, 'HEAD', checkout, ['deploy', '.dockerignore'])
  const committedAt = Number(execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: ROOT, encoding: 'utf8' }))
  for (const path of ['deploy/healthcheck.mjs', 'deploy/Dockerfile', '.dockerignore']) {
    expect({ path, mtimeMs: statSync(join(checkout, path)).mtimeMs }).toEqual({ path, mtimeMs: committedAt * 1000 })
  }
})

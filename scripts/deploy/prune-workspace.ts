/**
 * Copies the part of the workspace that one service runs on, for an image. The folder has its sources and those of its packages,
 * without tests, and their dependencies from npm without those for development.
 *
 *     node scripts/deploy/prune-workspace.ts services/edge /app
 *
 * Needs Node alone, and `PNPM`, the command that runs pnpm (`npx --yes pnpm@12.21.0`). The lockfile decides every version.
 */

import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, globSync, mkdirSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { foldersNeededBy, isShipped, readManifest } from './workspace-parts.ts'

const ROOT = join(import.meta.dirname, '../..')
const SHARED = ['package.json', 'pnpm-lock.yaml', 'pnpm-workspace.yaml']
/** pnpm's own notes, with paths and times of the build, and commands that need a shell. */
const INSTALLERS_FILES = [
  '**/node_modules/.bin',
  'node_modules/.modules.yaml',
  'node_modules/.pnpm-workspace-state-*.json',
]
/** Files of a package that only its developers need. */
const DEVELOPERS_FILES = ['**/*.d.ts', '**/*.d.mts', '**/*.d.cts', '**/*.map', '**/*.md', '**/*.tsbuildinfo']

/** Links to pnpm's store would keep its times, which differ between machines: a release clamps younger ones alone. */
const COPIES = '--package-import-method=copy'

const [entry, out] = process.argv.slice(2)
const pnpm = process.env['PNPM']
if (!entry || !out || !pnpm) {
  process.stderr.write('usage: PNPM=<command> node scripts/deploy/prune-workspace.ts <folder of a service> <out>\n')
  process.exit(2)
}

const folders = foldersNeededBy(ROOT, entry)
for (const file of SHARED) cpSync(join(ROOT, file), join(out, file))
for (const folder of folders) copySources(folder)
install(readManifest(ROOT, entry).name)
remove(DEVELOPERS_FILES, join(out, 'node_modules', '.pnpm'))
remove(INSTALLERS_FILES, out)

function copySources(folder: string): void {
  mkdirSync(join(out!, folder), { recursive: true })
  cpSync(join(ROOT, folder, 'package.json'), join(out!, folder, 'package.json'))
  for (const part of ['src', 'dist']) {
    const source = join(ROOT, folder, part)
    if (!existsSync(source)) continue
    cpSync(source, join(out!, folder, part), {
      recursive: true,
      filter: (path) => isShipped(relative(source, path)),
    })
  }
}

function install(name: string): void {
  const [program, ...args] = pnpm!.split(' ')
  const options = ['--frozen-lockfile', '--prod', '--no-optional', '--ignore-scripts', '--prefer-offline', COPIES]
  execFileSync(program!, [...args, 'install', ...options, '--filter', `${name}...`], {
    cwd: out,
    stdio: ['ignore', 2, 2],
    // pnpm must not wait for a person's reply.
    env: { ...process.env, CI: 'true', NODE_ENV: 'production' },
  })
}

function remove(patterns: readonly string[], folder: string): void {
  for (const path of globSync(patterns, { cwd: folder })) rmSync(join(folder, path), { recursive: true })
}

/** Writes the lists of words as the chooser reads them. `npm run auto:train` does this first: features depend on them. */

import { packWords } from './pack-words.ts'
import { writePacked } from './write-packed.ts'

const words = packWords()
const bytes = writePacked('words.json.br', words)
console.log(`${Object.keys(words.lists).length} languages, ${(bytes / 1024).toFixed(0)} KiB of words`)

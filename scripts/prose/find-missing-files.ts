/**
 * Finds names of source files, in documents and comments, that no file of the repository has. A name is inline code with a
 * source file's ending. It may leave out the first folders of the path, as a reader does who stands in one of them.
 */

const NAME = /`(?:\.{1,2}\/)*((?:[\w@.-]+\/)*[\w.-]+\.(?:ts|tsx|mjs|lua|py|css|md))(?:#[\w-]*)?`/g
const COMMENT = /^\s*(?:\/?\*|\/\/|#|--)|\s\/\/ /

export interface NamedFile {
  line: number
  name: string
}

/** Returns the names in a document, or in the comments of a source file. */
export function namedFiles(path: string, text: string): NamedFile[] {
  return text.split('\n').flatMap((content, index) => {
    if (!path.endsWith('.md') && !COMMENT.test(content)) return []
    return Array.from(content.matchAll(NAME), ([, name]) => ({ line: index + 1, name: name! }))
  })
}

/** Returns every ending of every path that begins at a folder or at the file itself. */
export function endingsOf(paths: Iterable<string>): Set<string> {
  const endings = new Set<string>()
  for (const path of paths) {
    const folders = path.split('/')
    for (let first = 0; first < folders.length; first += 1) endings.add(folders.slice(first).join('/'))
  }
  return endings
}

import { useEffect, useRef, type RefObject } from 'react'

/** Counts as being at the end. */
const NEAR_PX = 160

/** Keeps the end of a growing page in sight for as long as the reader stays there, and goes there when `turns` grows. */
export function useFollowEnd(turns: number, length: number): RefObject<HTMLDivElement | null> {
  const end = useRef<HTMLDivElement>(null)
  const wasAtEnd = useRef(true)
  useEffect(() => {
    const note = () => {
      const page = document.documentElement
      wasAtEnd.current = page.scrollHeight - page.scrollTop - window.innerHeight < NEAR_PX
    }
    window.addEventListener('scroll', note, { passive: true })
    return () => window.removeEventListener('scroll', note)
  }, [])
  useEffect(() => {
    if (turns > 0) end.current?.scrollIntoView({ block: 'end' })
  }, [turns])
  useEffect(() => {
    if (length > 0 && wasAtEnd.current) end.current?.scrollIntoView({ block: 'end' })
  }, [length])
  return end
}

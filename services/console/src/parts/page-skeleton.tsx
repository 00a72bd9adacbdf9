import { Skeleton } from '@mantine/core'

/** While a page's code is on its way. */
export function PageSkeleton() {
  return (
    <div aria-busy="true">
      <Skeleton height={34} width={180} mb={30} />
      <Skeleton height={220} radius="lg" />
    </div>
  )
}

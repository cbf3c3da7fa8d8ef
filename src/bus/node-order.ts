/** The nodes of a broker, so that instances with the same list do not all use the first. */
export function inRandomOrder(nodes: readonly string[], random: () => number): string[] {
  return nodes
    .map((node) => ({ node, rank: random() }))
    .sort((one, other) => one.rank - other.rank)
    .map(({ node }) => node);
}

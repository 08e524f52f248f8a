"""Sources whose contents are exact fractions: indices, bound and runs without any rounding.

An independent engine: it shares no code with the package. A source is (u*, alpha) with content
X(k) = u* (1 - alpha^k); sources are numbered from 0 and cost 1.
"""

from fractions import Fraction
from functools import cache


class ExactSources:
    def __init__(self, u_star, alpha):
        self.u_star = [Fraction(u) for u in u_star]
        self.alpha = [Fraction(a) for a in alpha]
        self.content = cache(self._content)

    def __len__(self):
        return len(self.u_star)

    def _content(self, i, age):
        if age is None:  # never crawled
            return self.u_star[i]
        return self.u_star[i] * (1 - self.alpha[i] ** age)

    def whittle(self, i, age):
        if age is None:
            return self.u_star[i]
        rise = self.content(i, age + 1) - self.content(i, age)
        return self.content(i, age) - age * rise

    def due(self, i, price):
        """First age at which the index is at least the price, None if there is none."""
        if price >= self.u_star[i]:
            return None
        age = 1
        while self.whittle(i, age) < price:
            age += 1
        return age

    def gain(self, i, price):
        age = self.due(i, price)
        return Fraction(0) if age is None else (self.content(i, age) - price) / age

    def lagrangian(self, i, age, price):
        due, gain = self.due(i, price), self.gain(i, price)
        if due is None:
            return self.content(i, age) - price
        if age is None:
            return gain
        if age < due:
            return self.content(i, age) - price - gain * age
        return gain - self.content(i, age + 1) + self.content(i, age)

    def bound(self, budget, price):
        return price * budget + sum(self.gain(i, price) for i in range(len(self)))

    def multipliers(self, budget):
        """Least and greatest minimiser of the bound: both are indices at some age."""
        low, high = Fraction(0), max(self.u_star)
        for _ in range(80):  # the slope changes at indices alone: bracket, then take them
            middle = (low + high) / 2
            if self.spending(middle) >= budget:
                low = middle
            else:
                high = middle
        greatest = self.nearest_index(high)
        spent = self.spending(greatest)
        if spent != budget:
            return greatest, greatest
        below = [
            self.whittle(i, due - 1)
            for i in range(len(self))
            if (due := self.due(i, greatest)) is not None and due > 1
        ]
        below += [u for u in self.u_star if u < greatest]
        return max(below, default=Fraction(0)), greatest

    def spending(self, price):
        dues = [self.due(i, price) for i in range(len(self))]
        return sum((Fraction(1, due) for due in dues if due is not None), Fraction(0))

    def nearest_index(self, price):
        """Return the index, at any age, or limit that is nearest to a number just above it."""
        found = []
        for i in range(len(self)):
            found.append(self.u_star[i])
            due = self.due(i, price)
            if due is not None:
                found += [self.whittle(i, age) for age in (due, due - 1) if age >= 1]
        return min(found, key=lambda index: abs(index - price))

    def play(self, rank, budget, ages, epochs=10_000):
        """Play an order of sources (largest rank first, ties to the smaller number) to its cycle.

        Returns the crawls of one period and the reward of each of its epochs.
        """
        ages, seen, crawls, rewards = list(ages), {}, [], []
        while tuple(ages) not in seen:
            assert len(crawls) < epochs
            seen[tuple(ages)] = len(crawls)
            order = sorted(range(len(self)), key=lambda i: (-rank(i, ages[i]), i))[:budget]
            crawls.append(tuple(sorted(order)))
            rewards.append(sum(self.content(i, ages[i]) for i in order))
            ages = [1 if i in order else None if a is None else a + 1 for i, a in enumerate(ages)]
        first = seen[tuple(ages)]
        return crawls[first:], rewards[first:]

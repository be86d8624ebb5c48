import{a,b}from"./chunk-CUM3J5AB.js";import"./chunk-L4ILBYYX.js";export{a as NotFound,b as NotFoundPage};

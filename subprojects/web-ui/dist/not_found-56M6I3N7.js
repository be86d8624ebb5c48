import{a,b}from"./chunk-7DTXH4XE.js";import"./chunk-6KVZOH5Z.js";import"./chunk-PNQD3UXB.js";export{a as NotFound,b as NotFoundPage};
